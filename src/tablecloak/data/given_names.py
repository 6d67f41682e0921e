"""Given and family names, by which texts that name people are recognised."""

from __future__ import annotations

import unicodedata

# Frequent given names of several languages; families of names share their first word.
_TEXT = """
    agnieszka ahmed ahmet aiden aisha alain alexander ali amanda amelia amit amy ana anastasia anders andreas
    andrew andrzej angela anil anna anthony antonio ashley ava ayse ayşe barbara benjamin betty brandon brenda
    brian camille carlos carmen carol carolyn catherine charles charlotte chiara chloe christina christine
    christophe christopher claudia cynthia daniel david deborah dennis diane dmitri dolores donald donna edward
    elena elijah elizabeth ella emily emma eric erik ethan evelyn fatima felix francesco francisco francoise
    frank françoise gary george giovanni giulia giuseppe grace gregory hans harper hassan heather helga hiroshi
    ibrahim ingrid isabella isabelle ivan jack jacob james jan janet jason jean jeffrey jennifer jessica jing
    joan joao john jonathan jose joseph joshua josé joyce joão juan juergen julie justin jürgen karen karin
    katarzyna katherine kathleen katrin kelly kenji kenneth kevin kimberly klaus krzysztof larry lars laura lena
    leon li liam lily linda lisa logan lucas lucia lucía luigi luis lukas manuel margaret maria marie mario mark
    martin mary mason matthew matthias mehmet melissa mia michael michel michelle miguel ming mohamed mohammed
    mohan monika muhammad mustafa nancy natalia nathalie nicholas nicolas nicole noah olga olivia omar pamela
    patricia patrick paul paula paulo pedro peter petra philippe pierre pilar piotr priya rachel raj ravi
    raymond rebecca renate richard robert ronald ruth ryan sabine sakura samantha samuel sandra sarah scott
    sergei sharon sophia stefan stephanie stephen steven sunita susan svetlana sylvie tatiana thomas thorsten
    timothy ursula uwe victoria virginia wei werner william wolfgang yan yuki zoe
"""
NAMES = frozenset(_TEXT.split())
# More given names of eight languages, without accents; too short or too like other words to be taken out of texts.
_MORE = """
    aaron abigail adam adrian agata agathe agnes alan albert alberto alejandra alejandro aleksander aleksandra
    alessandro alessia alex alexandra alexandre alfonso alfred alice alicia alina aline alison allison alvaro
    amalia amandine ambre anabel anais andre andrea andree andres angel angelika angelo anita anja anke ann anne
    annemarie annette annie antje anton antonella antonia antonina antonius arek arjan arkadiusz armand armando
    arnaud arne arthur arturo astrid audrey augusto aurelie axel bart bartosz bas beata beate beatrice beatriz
    ben bernadette bernard bernd bernhard bert beth bettina bianca birgit bjorn blanca bogdan bozena bradley
    bram brigitte bruno caio carina carl carla carlo carlotta carolina caroline catarina caterina cecile cecilia
    celia celine cesar chantal charlie chris christa christian christiane christoph claire clara claude claudine
    claudio clemence clement colin concepcion conchita constance corinna corinne cristiano cristina daan dagmar
    damian damien dana daniela danielle danuta dariusz david davide debora debra denise diana diego dieter dirk
    dominik dominique dorota dorothea douglas duarte edith edoardo eduard eduardo edyta eileen ekaterina
    eleonora elfriede eliane elias elisa elisabeth elise ella ellen elodie elsa elzbieta emil emile emilia
    emilie emmanuel emmanuelle enrico enrique erica ernst erwin esteban esther etienne eugenio eva evi ewa
    fabian fabien fabio fabrizio fanny federica federico felicia felipe femke fernanda fernando filip filipa
    filipe filippo fleur florence florian franca frances francesca francine francois frans franz fred frederic
    frederik fritz gabriel gabriela gabriele gabriella gael gareth gemma genevieve geoffrey georg georges
    georgia gerald gerard gerd gerhard gerrit giacomo gianni gilbert gilles gillian gina gino giorgia giorgio
    giovanna gisela gloria gonzalo grazyna greta grzegorz guadalupe gudrun guido guillaume guillermo gunter
    gunther gustavo guy halina hanna hannah hannelore hans hansjorg harald harry heike heinrich heinz helen
    helena helene helmut hendrik hendrika henri henriette henrique henryk herbert hermann hilda holger horst
    hubert hugo ian ignacio ilaria ilona ilse ines inge ingeborg ingo irena irene iris irma irmgard isaac isabel
    jaap jacek jacob jacqueline jacques jadwiga jakub jane janina janine jannik janusz jaqueline jaroslaw jasmin
    jasper javier jeanne jeannette jens jeremy jerome jerzy jesus jill joachim joana joanna joanne joaquim
    joaquin joel johan johanna johannes jolanta jonas jordan jorg jorge josef josefa josefina josephine jozef
    juana jules julia julian juliana julien juliette julio justine justyna jutta kaja kamil kamila karel karina
    karl karol karolina kate katharina katherina kathrin kathryn katja kay keith kerstin kim kinga klara konrad
    kristin kristina krystyna kurt laetitia larissa laurence laurent lea leila leonard leonardo leonie leonor
    leslie leszek letizia lieke lilian lina lorena lorenzo lotte louis louise luc luca lucie lucien lucyna
    ludwig luisa lukasz lydia lynn maarten maciej madeleine magali magda magdalena maik maike maite malgorzata
    manfred manon manuela marc marcel marcella marcelle marcelo marcin marco marcos marek margarete margarida
    margarita margaux margot margriet mariana marianne maribel marieke marijke marina marion marisa marjolein
    marko markus marlene marta martha marthe martina martine martyna marvin massimo mateo mateusz matilde matteo
    maurice mauricio maurizio mauro max maxime maximilian mercedes michal michele micheline mike milena miranda
    mireille mirko miroslaw moises monica monique montserrat moritz nadia nadine natalie natasha nathan nele
    nelly niels nils nina noel noelia nora norbert norman nuno odile oliver olivier oscar oskar otto pablo paolo
    pascal patrice patrizia patryk paulette paulina pauline pawel petronella phil philip philipp pieter pietro
    przemyslaw rafael rafal rainer ralf ralph ramon raphael raquel raul regina reginald reinhard reinhold remi
    renata rene renee ricardo riccardo rita roberto robin rocio roderick rodrigo roger roland rolf roman ronny
    rosa rosalia rosario rosemarie roswitha ruben rudolf ryszard sabrina sally salvador salvatore sam sander
    sandrine sanne santiago sara saskia sean sebastian sebastiao sebastien sergio shane sharon shirley siegfried
    sigrid silke silvana silvia simon simona simone slawomir sofia sofie sonia sonja sophie stanislaw stefania
    stefanie stefano steffen stella stephane sueli susana susanna susanne sven sybille sylvain sylvia szymon
    tamara tania tanja tatjana teresa teun theo theresa therese thibault thierry thijs thilo tim timo tina
    tobias tom tomas tomasz tony torsten tracy tristan ulf ulrich ulrike urszula ute valentin valentina valeria
    valerie vanessa vasco vera veronica veronika veronique vicente vicky victor vincent vincenzo viola violeta
    virginie vitor vittoria viviane volker walter waltraud wanda wayne wendy wenzel wieslaw wieslawa wiktor
    wilhelm wilhelmina willem willi willy wim witold wladyslaw wojciech wouter xavier ximena yann yannick yasmin
    yolanda yvan yves yvette yvonne zachary zbigniew zdzislaw zofia zuzanna
"""
_PLAIN_NAMES = frozenset(_MORE.split())
# Frequent family names of the same languages, without accents.
_FAMILY = """
    adamczyk adams adamski ahmed albrecht alexander allen almeida alonso alvarez alves amaral amato anderson
    andrade andre andrews antunes araujo armstrong arnold assuncao atkinson azevedo bailey baker bakker baptista
    baran barbieri barbosa barker barnes barros basile battaglia bauer baumann beck becker beek bell bellini
    benedetti bennett berg berger bergmann bernard bernardi bertrand bianchi bianco blanc blanchard blanco bohm
    bonnet booth borges borkowski bos bosch bourgeois boyer bradley branco brandt braun brito brooks brouwer
    brown bruin brun brunet bruno burton busch butler campbell campos cano caputo cardoso carneiro carter caruso
    carvalho castillo castro cattaneo chapman chevalier chmielewski clark clarke clement coelho colin collins
    colombo conte conti cook cooper coppola correia costa cox cruz cunha czarnecki dabrowski damico david davies
    davis dawson deangelis dekker delgado deluca denis desantis dias diaz dietrich dijk dijkstra dixon domingues
    dominguez duarte dubois duda dudek dufour dumas dumont dupont durand duval edwards ellis engel esposito
    esteves evans fabbri fabre faria farina faure fernandes fernandez ferrara ferrari ferraro ferreira ferretti
    ferri figueiredo fiore fischer fisher fletcher flores fonseca fontaine fontana foster fournier fox francois
    frank franke freitas friedrich fuchs gajewski galli gallo garcia garnier garrido gaspar gatti gauthier
    gautier gentile gerard gerritsen gibson gil gimenez giordano girard giraud glowacki gomes gomez goncalves
    gonzalez gordon gorski graaf graham grant grassi gray greco green griffiths groot gross guerin guerra
    guerreiro guerrero guillaume gunther gutierrez haan haas hahn hall hamilton harris harrison hartmann harvey
    heinrich henderson hendriks henriques henry hermans hernandez herrera herrmann hill hoekstra hoffmann
    hofmann holmes horn huber hubert hudson hughes huisman hunt hunter hussain iglesias jablonski jackson jacobs
    jager jakubowski jankowski jansen janssen jasinski jean jenkins jesus jimenez johnson johnston joly jones
    jong jung kaczmarek kaiser kalinowski kaminska kaminski kazmierczak keller kelly kennedy khan king klein
    knight koch kohler kok kolodziej konieczny konig koster kowalczyk kowalska kowalski kozak kozlowska
    kozlowski krajewski kraus krause krawczyk krol kruger kubiak kucharski kuhn kuiper kuipers kwiatkowski
    lacroix lambert lang lange laurent lawrence lawson leal leblanc leclerc lecomte lee leeuwen lefebvre lefevre
    legrand lehmann leite lemaire leon leone leroux leroy lewandowska lewandowski lewis lima linden lis lloyd
    lombardi lombardo longo lopes lopez lorenz loureiro lourenco lozano ludwig maas macedo machado maciejewski
    magalhaes maia maier majewski malinowski mancini marchand marchetti marciniak mariani marie marin marini
    marino marques marquez marshall martens martin martinelli martinez martini martins mason masson mathieu
    matias matos matthews mayer mazur mazza mcdonald medina meer meier meijer melo mendes mendez mercier messina
    meunier meyer michalak michalski michel milani miller mills miranda mitchell molina moller montanari
    monteiro monti moore morais morales moreau moreira morel morelli moreno moretti morgan morin morris mota
    moura mroz mulder muller munoz murphy murray nascimento navarro nelson neri neto neumann neves nicolas noel
    nogueira nowak nowakowski nowicki nunes nunez oliveira olivier olszewski orlando ortega ortiz ostrowski otto
    owen pacheco pagano paiva palmer palmieri palumbo parisi parker patel pawlak pawlowski pearson pellegrini
    pellegrino pereira perez perkins perrin peters petit pfeiffer philippe phillips picard pierre pietrzak
    pinheiro pinho pinto piotrowski piras pires pohl postma powell price prieto prins przybylski ramirez ramos
    reid reis renard rey reyes reynolds ribeiro ricci richard richards richardson richter rinaldi riva riviere
    rizzi rizzo robert roberts robertson robin robinson rocha rodrigues rodriguez roger rogers romano romero
    rose ross rossetti rossi roth rousseau roussel roux roy rubio ruggiero ruiz russell russo rutkowski ryan sa
    sadowski sala salgado sampaio sanchez sanna santana santiago santoro santos sanz sauer saunders sawicki
    schafer schmid schmidt schmitt schneider scholz schouten schreiber schroder schubert schulte schulz schulze
    schumacher schuster schwarz scott seidel serra serrano shaw sikora sikorski silva silvestri simoes simon
    simpson smit smith smits soares sobczak sommer sorrentino soto sousa souza spencer stein stepien stevens
    stewart stone suarez sullivan szczepanski szewczyk szulc szymanski szymczak tavares taylor teixeira testa
    thomas thompson thomson tomaszewski torres turner urban valente valentini vargas vaz vazquez veenstra vega
    velasco velden ven verhoeven vermeulen vicente vidal vieira villa vincent vink visser vitale vitali vliet
    vogel vogt voigt vos vries wagner wal walczak walker walsh walter ward wasilewski watson webb weber weiss
    wells werner west white wieczorek wilk wilkinson willems williams williamson willis wilson winkler winter
    wisniewska wisniewski wit witkowski wlodarczyk wojciechowski wojcik wolf wolff wood wozniak wright wrobel
    wroblewski wysocki young zajac zakrzewski zalewski zawadzki ziegler zielinska zielinski zimmermann
    ziolkowski
"""
_FAMILY_NAMES = frozenset(_FAMILY.split())
_PLAIN = str.maketrans({"ß": "ss", "ł": "l", "ø": "o"})


def has_given_name(text: str) -> bool:
    """Whether a text of at most four words has a frequent given name among them.

    >>> has_given_name("Keller, Anna"), has_given_name("given name")
    (True, False)
    """
    words = text.replace(",", " ").replace("-", " ").lower().split()
    if not 0 < len(words) <= 4:
        return False
    return any(word in NAMES or _without_accents(word) in _PLAIN_NAMES for word in words)


def is_family_name(text: str) -> bool:
    """Whether a text of one or two words, or its first of two with a dash, is a frequent family name.

    >>> is_family_name("Gonçalves"), is_family_name("van den Berg"), is_family_name("Lissabon")
    (True, True, False)
    """
    words = text.replace("-", " ").lower().split()
    return 0 < len(words) <= 3 and any(_without_accents(word) in _FAMILY_NAMES for word in words)


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFKD", word.translate(_PLAIN))
    return "".join(c for c in decomposed if not unicodedata.combining(c))
